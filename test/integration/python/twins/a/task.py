"""A task with modules beside it that another folder has, too."""

import helper
import queue
import six
import worker


def facts():
    import later

    return [helper.VALUE, later.VALUE, worker.VALUE, six.VALUE, hasattr(queue, "Queue")]


def made():
    return helper.Thing("a")


def of(thing):
    return [type(thing).__module__, thing.name, thing.OF]
