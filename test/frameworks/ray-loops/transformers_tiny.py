"""Hugging Face Transformers: a tiny BERT with random weights, the Trainer, and Ray's callback."""

import json
import os
import sys

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

import ray.train.huggingface.transformers
from ray.train import RunConfig, ScalingConfig
from ray.train.huggingface.transformers import RayTrainReportCallback
from ray.train.torch import TorchTrainer


class Sentences(torch.utils.data.Dataset):
    def __init__(self, rows, seed):
        generator = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(5, 100, (rows, 12), generator=generator)
        self.labels = (self.tokens[:, 0] > 50).long()

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "attention_mask": torch.ones(12, dtype=torch.long), "labels": self.labels[index]}


def train_func(config):
    set_seed(config["seed"])
    model = BertForSequenceClassification(
        BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16)
    )
    args = TrainingArguments(
        output_dir=os.path.join(config["folder"], "trainer"),
        num_train_epochs=config["epochs"],
        per_device_train_batch_size=8,
        learning_rate=config["lr"],
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="epoch",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        save_total_limit=1,
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=Sentences(64, 0),
        eval_dataset=Sentences(32, 1),
        compute_metrics=lambda prediction: {"accuracy": float((np.argmax(prediction.predictions, axis=-1) == prediction.label_ids).mean())},
    )
    trainer.add_callback(RayTrainReportCallback())
    trainer = ray.train.huggingface.transformers.prepare_trainer(trainer)
    trainer.train()


if __name__ == "__main__":
    trainer = TorchTrainer(
        train_func,
        train_loop_config=json.loads(sys.argv[1]),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=sys.argv[2]),
    )
    result = trainer.fit()
    print("RESULT " + json.dumps({"metrics": result.metrics, "files": sorted(os.listdir(result.checkpoint.path))}))
