"""``get_context()``: where a rank stands in its group, with the methods of Ray's."""


class PreemptionInfo:
    """Nodes of this run are to go away."""

    def __init__(self, deadline_ms, preempted_node_to_ranks, reason=None):
        #: When the first of them goes, in milliseconds since 1970; None where all of them wait for what runs.
        self.deadline_ms = deadline_ms
        #: Their ids, with the ranks that each has.
        self.preempted_node_to_ranks = preempted_node_to_ranks
        self.reason = reason

    @property
    def preempted_node_ids(self):
        return sorted(self.preempted_node_to_ranks)

    @property
    def preempted_ranks(self):
        return sorted({rank for ranks in self.preempted_node_to_ranks.values() for rank in ranks})

    def __repr__(self):
        return "PreemptionInfo(deadline_ms=%r, preempted_node_to_ranks=%r)" % (self.deadline_ms, self.preempted_node_to_ranks)


class TrainContext:
    def __init__(self, facts):
        self._facts = facts
        self._preemption = None

    @property
    def started_at_ms(self):
        """When the group was made, in milliseconds since 1970: the same in all ranks."""
        return self._facts["startedAtMs"]

    def get_world_size(self):
        """How many ranks there are."""
        return self._facts["worldSize"]

    def get_world_rank(self):
        """This rank's number among all ranks, from 0."""
        return self._facts["worldRank"]

    def get_local_rank(self):
        """This rank's number among the ranks of its node, from 0."""
        return self._facts["localRank"]

    def get_local_world_size(self):
        """How many ranks this node has."""
        return self._facts["localWorldSize"]

    def get_node_rank(self):
        """This node's number among the nodes with ranks, from 0."""
        return self._facts["nodeRank"]

    def get_experiment_name(self):
        """The run's name."""
        return self._facts["experimentName"]

    def get_trial_name(self):
        return self._facts.get("trialName") or self._facts["experimentName"]

    def get_trial_id(self):
        return self._facts.get("trialId")

    def get_trial_dir(self):
        """The run's folder, or the trial's within it."""
        return self._facts.get("trialDir") or self._facts["runPath"]

    def get_trial_resources(self):
        raise RuntimeError("get_trial_resources is not supported: what ranks hold is in scalingConfig of the trainer")

    @property
    def device_indices(self):
        """This rank's GPUs, as places in ``CUDA_VISIBLE_DEVICES``, which shows those of all ranks of the node."""
        return self._facts.get("deviceIndices") or ()

    def get_metadata(self):
        """Metadata of the run, which is always empty."""
        return {}

    def get_storage(self):
        """Where the run is kept, as an object with ``storage_path``, ``experiment_dir_name`` and ``experiment_fs_path``."""
        return StorageContext(self._facts)

    def get_attempt(self):
        """How often the group was started before, for this run."""
        return self._facts.get("attempt", 0)

    def get_preemption_info(self):
        """The nodes that go away, as far as this rank has heard; other ranks may hear at another step. None where it has heard of none."""
        return self._preemption


class StorageContext:
    def __init__(self, facts):
        self.storage_path = facts["storagePath"]
        self.experiment_dir_name = facts["experimentName"]
        self.experiment_fs_path = facts["runPath"]
