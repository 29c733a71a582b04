"""The catalogue: published sizes and times of known training models, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

BYTES_PER_PARAMETER = 4  # the gradients of the catalogue are fp32
FORWARD_PART = 1 / 3  # of an iteration, where a source gives forward and backward pass as one time


class Source(NamedTuple):
    """Where numbers come from."""

    title: str
    address: str


SOURCES: Mapping[str, Source] = {
    "Wang et al. 2020": Source(
        "Communication contention aware scheduling of multiple deep learning training jobs",
        "https://arxiv.org/abs/2002.10105",
    ),
    "Muri (SIGCOMM '22)": Source(
        "Multi-resource interleaving for deep learning training",
        "https://dl.acm.org/doi/10.1145/3544216.3544224",
    ),
    "NVIDIA": Source(
        "Deep Learning Examples for PyTorch: tables of the training performance of one GPU",
        "https://github.com/NVIDIA/DeepLearningExamples",
    ),
    "Lambda": Source(
        "PyTorch benchmarks of one GPU: throughput and batch size, fp16",
        "https://github.com/lambdal/deeplearning-benchmark",
    ),
    "MosaicML": Source(
        "MPT training benchmarks: eight GPUs of one server, FSDP, no activation checkpointing",
        "https://github.com/mosaicml/llm-foundry/tree/main/scripts/train/benchmarking",
    ),
    "torchvision": Source("Metadata of the weights", "https://pytorch.org/vision/stable/models.html"),
    "timm": Source("Model card", "https://huggingface.co/timm/resnext101_32x4d.gluon_in1k"),
    "Devlin et al. 2019": Source("BERT", "https://arxiv.org/abs/1810.04805"),
    "Liu et al. 2019": Source("RoBERTa", "https://arxiv.org/abs/1907.11692"),
    "Dai et al. 2019": Source("Transformer-XL", "https://arxiv.org/abs/1901.02860"),
    "Raffel et al. 2020": Source("T5", "https://arxiv.org/abs/1910.10683"),
    "OpenAI, GPT-2": Source("Model cards of GPT-2", "https://huggingface.co/openai-community/gpt2-xl"),
    "OpenAI, Whisper": Source("Whisper", "https://github.com/openai/whisper"),
    "Meta": Source("Model card of Llama 2", "https://huggingface.co/meta-llama/Llama-2-7b-hf"),
    "Mistral AI": Source("Model card of Mistral 7B", "https://huggingface.co/mistralai/Mistral-7B-v0.1"),
    "Li et al. 2019": Source("Jasper", "https://arxiv.org/abs/1904.03288"),
    "Kriman et al. 2020": Source("QuartzNet", "https://arxiv.org/abs/1910.10261"),
    "Baevski et al. 2020": Source("wav2vec 2.0", "https://arxiv.org/abs/2006.11477"),
    "NVIDIA, NCF": Source(
        "Default layers (factors 64, 256-256-128-64), and 138,493 users and 26,744 items of ML-20m",
        "https://github.com/NVIDIA/DeepLearningExamples/tree/master/PyTorch/Recommendation/NCF",
    ),
}


class KnownModel(NamedTuple):
    """Facts about one model; times are per iteration at this minibatch.

    Parameters
    ----------
    family
        vision, language, speech or recommendation.
    gradient_mb
        Size of its gradients in fp32.
    minibatch, forward_ms_per_iteration, backward_ms
        None if no source gives a time: then a job must state `iteration_ms`.
    gpu, computed_in
        The GPU that was measured, and the type it computed in; empty if the source does not say.
    source, size_source
        Keys of `SOURCES`: of the times, and of the size.
    note
        What else the source says about the measurement.
    """

    family: str
    gradient_mb: float
    minibatch: int | None
    forward_ms_per_iteration: float | None
    backward_ms: float | None
    gpu: str
    computed_in: str
    source: str
    size_source: str
    note: str = ""

    @property
    def parameters_m(self) -> float:
        """Millions of parameters."""
        return self.gradient_mb / BYTES_PER_PARAMETER

    @property
    def iteration_ms(self) -> float | None:
        """Forward and backward pass of one minibatch; None if no source gives it."""
        if self.forward_ms_per_iteration is None or self.backward_ms is None:
            return None
        return round(self.forward_ms_per_iteration + self.backward_ms, 6)

    def fields(self) -> dict[str, Any]:
        """Return the fields of a job of this model; `forward_ms` of a job is per sample."""
        size = {"gradient_mb": self.gradient_mb}
        if self.minibatch is None or self.forward_ms_per_iteration is None:
            return size
        return size | {
            "minibatch": self.minibatch,
            "forward_ms": self.forward_ms_per_iteration / self.minibatch,
            "backward_ms": self.backward_ms,
        }


class _Size(NamedTuple):
    family: str
    parameters_m: float
    source: str

    @property
    def gradient_mb(self) -> float:
        return round(float(self.parameters_m * BYTES_PER_PARAMETER), 1)


def _published(
    family: str, gradient_mb: float, minibatch: int, forward_ms: float, backward_ms: float, source: str
) -> KnownModel:
    """Return a model whose source gives size and both passes, measured on V100-class GPUs."""
    return KnownModel(family, gradient_mb, minibatch, forward_ms, backward_ms, "V100", "", source, source)


def _measured(
    size: _Size,
    gpu: str,
    minibatch: int,
    samples_per_s: float,
    source: str,
    note: str,
    computed_in: str = "mixed",
) -> KnownModel:
    """Return a model whose source gives a throughput; the time is split 1 : 2."""
    iteration_ms = round(1000 * minibatch / samples_per_s, 1)
    forward_ms = round(iteration_ms * FORWARD_PART, 1)
    return KnownModel(
        size.family,
        size.gradient_mb,
        minibatch,
        forward_ms,
        round(iteration_ms - forward_ms, 1),
        gpu,
        computed_in,
        source,
        size.source,
        note,
    )


def _sized(size: _Size) -> KnownModel:
    """Return a model of which only the size is known."""
    return KnownModel(size.family, size.gradient_mb, None, None, None, "", "", size.source, size.source)


_WANG = "Wang et al. 2020"
_MURI = "Muri (SIGCOMM '22)"
_RESNET50 = _Size("vision", 25.557, "torchvision")
_RESNEXT101 = _Size("vision", 44.2, "timm")
_EFFICIENTNET_B0 = _Size("vision", 5.2885, "torchvision")
_EFFICIENTNET_B4 = _Size("vision", 19.3416, "torchvision")
_BERT_BASE = _Size("language", 110, "Devlin et al. 2019")
_BERT_LARGE = _Size("language", 340, "Devlin et al. 2019")
_TRANSFORMER_XL = _Size("language", 257, "Dai et al. 2019")
_JASPER = _Size("speech", 333, "Li et al. 2019")
_NCF = _Size("recommendation", 31.83, "NVIDIA, NCF")
_SQUAD = "SQuAD fine-tuning"


def _mpt(
    parameters_m: float, gpu: str, minibatch: int, tokens_per_s: float, length: int = 2048
) -> KnownModel:
    size = _Size("language", parameters_m, "MosaicML")
    note = f"sequences of {length} tokens"
    return _measured(size, gpu, minibatch, tokens_per_s / length, "MosaicML", note, "bf16")


# Plans and generated workloads depend on the numbers of the first seven.
CATALOGUE: Mapping[str, KnownModel] = {
    "resnet50": _published("vision", 99.2, 16, 25.0, 37.0, _WANG),
    "vgg16": _published("vision", 526.4, 16, 36.0, 54.0, _WANG),
    "inception-v3": _published("vision", 103.0, 16, 35.0, 52.0, _WANG),
    "lstm-ptb": _published("language", 251.8, 16, 32.0, 47.0, _WANG),
    "bert-base": _published("language", 438.0, 4, 59.0, 119.0, _MURI),
    "gpt2-small": _published("language", 498.0, 4, 142.0, 284.0, _MURI),
    "resnet18": _published("vision", 47.0, 128, 260.0, 519.0, _MURI),
    # Vision; samples per second are images.
    "resnet50-v100": _measured(_RESNET50, "V100 16 GB", 256, 1200, "NVIDIA", "ImageNet"),
    "resnet50-a100": _measured(_RESNET50, "A100 80 GB", 256, 2470, "NVIDIA", "ImageNet"),
    "resnet50-h100": _measured(_RESNET50, "H100 PCIe", 1280, 1866, "Lambda", "ImageNet"),
    "resnext101-32x4d-v100": _measured(_RESNEXT101, "V100 16 GB", 128, 534.91, "NVIDIA", "ImageNet"),
    "resnext101-32x4d-a100": _measured(_RESNEXT101, "A100 40 GB", 128, 908.40, "NVIDIA", "ImageNet"),
    "efficientnet-b0-v100": _measured(_EFFICIENTNET_B0, "V100 16 GB", 128, 1301, "NVIDIA", "ImageNet"),
    "efficientnet-b0-a100": _measured(_EFFICIENTNET_B0, "A100 80 GB", 256, 2489, "NVIDIA", "ImageNet"),
    "efficientnet-b4-v100": _measured(_EFFICIENTNET_B4, "V100 16 GB", 32, 204, "NVIDIA", "ImageNet"),
    "efficientnet-b4-a100": _measured(_EFFICIENTNET_B4, "A100 80 GB", 128, 331, "NVIDIA", "ImageNet"),
    # Language; a throughput in tokens is divided by the length of a sequence.
    "bert-base-v100": _measured(_BERT_BASE, "V100 16 GB", 48, 189, "Lambda", _SQUAD),
    "bert-base-a100": _measured(_BERT_BASE, "A100 80 GB", 320, 443, "Lambda", _SQUAD),
    "bert-base-h100": _measured(_BERT_BASE, "H100 PCIe", 320, 567, "Lambda", _SQUAD),
    "bert-large-v100": _measured(_BERT_LARGE, "V100 16 GB", 16, 57, "Lambda", _SQUAD),
    "bert-large-a100": _measured(_BERT_LARGE, "A100 80 GB", 112, 152, "Lambda", _SQUAD),
    "bert-large-h100": _measured(_BERT_LARGE, "H100 PCIe", 112, 203, "Lambda", _SQUAD),
    "bert-large-512-v100": _measured(
        _BERT_LARGE, "V100 32 GB", 8, 30.08, "NVIDIA", "sequences of 512 tokens"
    ),
    "transformer-xl-v100": _measured(
        _TRANSFORMER_XL, "V100 32 GB", 8, 14_787 / 384, "NVIDIA", "segments of 384 tokens"
    ),
    "transformer-xl-a100": _measured(
        _TRANSFORMER_XL, "A100 40 GB", 16, 25_084 / 384, "NVIDIA", "segments of 384 tokens"
    ),
    "mpt-125m-a100": _mpt(125.31, "A100 40 GB", 26, 136_334),
    "mpt-350m-a100": _mpt(355.99, "A100 40 GB", 16, 55_995),
    "mpt-760m-a100": _mpt(760.47, "A100 40 GB", 12, 30_173),
    "mpt-1b-a100": _mpt(1315.95, "A100 40 GB", 8, 19_271),
    "mpt-3b-a100": _mpt(2651.84, "A100 40 GB", 5, 10_065),
    "mpt-760m-h100": _mpt(760.47, "H100 80 GB", 24, 63_147),
    "mpt-1b-h100": _mpt(1315.95, "H100 80 GB", 14, 45_455),
    "mpt-3b-h100": _mpt(2657.08, "H100 80 GB", 5, 20_964, length=4096),
    "mpt-7b-h100": _mpt(6658.86, "H100 80 GB", 6, 10_643),
    "mpt-13b-h100": _mpt(12_853.95, "H100 80 GB", 2, 4_792),
    # Speech and recommendation.
    "jasper-v100": _measured(_JASPER, "V100 32 GB", 64, 41.03, "NVIDIA", "LibriSpeech, up to 16.7 s"),
    "ncf-v100": _measured(_NCF, "V100 16 GB", 2_560_000, 23_476_979, "Lambda", "ML-20m"),
    "ncf-a100": _measured(_NCF, "A100 80 GB", 10_000_000, 30_787_381, "Lambda", "ML-20m"),
    "ncf-h100": _measured(_NCF, "H100 PCIe", 10_000_000, 34_483_571, "Lambda", "ML-20m"),
    # Sizes only; a job states its iteration_ms.
    "resnet101": _sized(_Size("vision", 44.549, "torchvision")),
    "resnet152": _sized(_Size("vision", 60.193, "torchvision")),
    "vgg19": _sized(_Size("vision", 143.667, "torchvision")),
    "densenet121": _sized(_Size("vision", 7.979, "torchvision")),
    "vit-b-16": _sized(_Size("vision", 86.568, "torchvision")),
    "vit-l-16": _sized(_Size("vision", 304.327, "torchvision")),
    "swin-b": _sized(_Size("vision", 87.768, "torchvision")),
    "convnext-base": _sized(_Size("vision", 88.591, "torchvision")),
    "roberta-large": _sized(_Size("language", 355, "Liu et al. 2019")),
    "t5-base": _sized(_Size("language", 220, "Raffel et al. 2020")),
    "t5-large": _sized(_Size("language", 770, "Raffel et al. 2020")),
    "gpt2-medium": _sized(_Size("language", 355, "OpenAI, GPT-2")),
    "gpt2-large": _sized(_Size("language", 774, "OpenAI, GPT-2")),
    "gpt2-xl": _sized(_Size("language", 1558, "OpenAI, GPT-2")),
    "llama2-7b": _sized(_Size("language", 6738.4, "Meta")),
    "mistral-7b": _sized(_Size("language", 7240, "Mistral AI")),
    "whisper-small": _sized(_Size("speech", 244, "OpenAI, Whisper")),
    "whisper-medium": _sized(_Size("speech", 769, "OpenAI, Whisper")),
    "whisper-large": _sized(_Size("speech", 1550, "OpenAI, Whisper")),
    "wav2vec2-base": _sized(_Size("speech", 95, "Baevski et al. 2020")),
    "wav2vec2-large": _sized(_Size("speech", 317, "Baevski et al. 2020")),
    "quartznet-15x5": _sized(_Size("speech", 18.9, "Kriman et al. 2020")),
}

# Models that describe a job without further fields: for workloads, traces and the lab.
TIMED: Mapping[str, KnownModel] = {
    name: known for name, known in CATALOGUE.items() if known.minibatch is not None
}
