"""Lightning, Transformers, Accelerate and JAX on a GPU. Each loop imports its framework itself, so that the others need not be there."""

import os
import tempfile

import torch
from torch.utils.data import DataLoader, TensorDataset

from shoal import train


def rows():
    x = torch.randn(256, 8, generator=torch.Generator().manual_seed(3))
    return TensorDataset(x, x @ torch.linspace(-1, 1, 8).unsqueeze(1))


def lightning(config):
    import lightning.pytorch as pl

    from shoal.train.lightning import RayDDPStrategy, RayFSDPStrategy, RayLightningEnvironment, RayTrainReportCallback, prepare_trainer

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
            self.places = set()

        def training_step(self, batch, index):
            x, y = batch
            output = self.layers(x)
            self.places.add((str(x.device), str(output.dtype)))
            loss = torch.nn.functional.mse_loss(output.float(), y)
            self.log("loss", loss, on_epoch=True, on_step=False, sync_dist=True)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=0.01)

    class Curve(pl.callbacks.Callback):
        def __init__(self):
            self.losses = []

        def on_train_epoch_end(self, trainer, module):
            self.losses.append(float(trainer.callback_metrics["loss"]))

    curve = Curve()
    torch.manual_seed(7)
    model = Model()
    trainer = pl.Trainer(
        max_epochs=3,
        accelerator="gpu" if config["device"] == "cuda" else "cpu",
        devices="auto",
        precision=config["precision"],
        strategy={"ddp": RayDDPStrategy, "fsdp": RayFSDPStrategy}[config["strategy"]](),
        plugins=[RayLightningEnvironment()],
        callbacks=[curve, RayTrainReportCallback()],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    trainer = prepare_trainer(trainer)
    trainer.fit(model, DataLoader(rows(), batch_size=32))
    train.report({"losses": curve.losses, "places": sorted(model.places), "root": str(trainer.strategy.root_device), "kind": type(trainer.strategy.model).__name__})


def transformers(config):
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    from shoal.train.huggingface.transformers import RayTrainReportCallback, prepare_trainer

    class Sentences(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, index):
            tokens = torch.full((16,), 5 + index)
            return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "labels": torch.tensor(index % 2)}

    torch.manual_seed(7)
    small = BertConfig(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=3,
            learning_rate=1e-3,
            logging_strategy="epoch",
            save_strategy="epoch",
            report_to="none",
            bf16=config["device"] == "cuda",
            use_cpu=config["device"] != "cuda",
            disable_tqdm=True,
        )
        trainer = Trainer(model=BertForSequenceClassification(small), args=arguments, train_dataset=Sentences())
        trainer.add_callback(RayTrainReportCallback())
        prepare_trainer(trainer).train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    train.report({"losses": losses, "places": [[str(trainer.model.device), str(arguments.bf16)]], "kind": type(trainer.model_wrapped).__name__})


def accelerate(config):
    from accelerate import Accelerator

    torch.manual_seed(7)
    accelerator = Accelerator(cpu=config["device"] != "cuda", mixed_precision="bf16")
    model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows(), batch_size=32))
    losses, places = [], set()
    for _ in range(3):
        total = 0.0
        for x, y in loader:
            places.add((str(x.device), accelerator.mixed_precision))
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            total += float(accelerator.gather(loss.detach().reshape(1)).mean())
        losses.append(total / len(loader))
    train.report({"losses": losses, "places": sorted(places), "kind": type(model).__name__, "ranks": accelerator.num_processes})


def dataset(config):
    """Batches of a dataset come on the rank's device, unless the loop says otherwise."""
    shard = train.get_dataset_shard("train")
    total, places = 0, {}
    for name, options in {"plain": {}, "named": {"device": config["device"]}, "pinned": {"pin_memory": config["device"] == "cuda"}, "cpu": {"device": "cpu"}}.items():
        places[name] = set()
        for batch in shard.iter_torch_batches(batch_size=256, **options):
            places[name].add(str(batch["id"].device))
            total += int(batch["id"].sum())
    train.report({"total": total, "places": {name: sorted(found) for name, found in places.items()}, "own": str(train.torch.get_device())})


def jax_loop(config):
    import jax
    import jax.numpy as jnp

    x = jnp.linspace(-1, 1, 4096).reshape(512, 8)
    gradient = jax.jit(jax.value_and_grad(lambda weights: jnp.mean((x @ weights - x.sum(1)) ** 2)))
    weights, losses = jnp.zeros(8), []
    for _ in range(5):
        loss, slope = gradient(weights)
        weights -= 0.1 * slope
        losses.append(float(loss))
    [where] = weights.devices()
    train.report({"losses": losses, "platform": jax.default_backend(), "devices": [str(device) for device in jax.devices()], "on": where.platform, "visible": os.environ.get("CUDA_VISIBLE_DEVICES")})
