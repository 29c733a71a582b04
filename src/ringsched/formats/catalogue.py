"""The catalogue: published sizes and times of known training models, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

BYTES_PER_PARAMETER = 4  # the gradients of the catalogue are fp32
FORWARD_PART = 1 / 3  # of an iteration, where a source gives forward and backward pass as one time


# How we know a number.
READ = "read there"  # the number, or the throughput that it follows from, is at the address
COUNTED = "counted"  # from the layers that the address describes
QUOTED = "quoted"  # read in works that quote the source, not in the source itself


class Source(NamedTuple):
    """Where numbers come from, and how we know them."""

    title: str
    address: str
    evidence: str = READ


_EXAMPLES = "https://github.com/NVIDIA/DeepLearningExamples"

SOURCES: Mapping[str, Source] = {
    "Wang et al. 2020": Source(
        "Communication contention aware scheduling of multiple deep learning training jobs",
        "https://arxiv.org/abs/2002.10105",
        QUOTED,
    ),
    "Muri (SIGCOMM '22)": Source(
        "Batch sizes and iteration times of one GPU in the published trace",
        "https://github.com/Rivendile/Muri",
    ),
    "NVIDIA": Source(
        "Deep Learning Examples for PyTorch: tables of the training performance of one GPU", _EXAMPLES
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
    "BERT": Source("Table of the released models", "https://github.com/google-research/bert"),
    "BERT layers": Source(
        "12 layers of 768, 30,522 tokens", "https://huggingface.co/google-bert/bert-base-uncased", COUNTED
    ),
    "RoBERTa": Source(
        "Table of the released models",
        "https://github.com/facebookresearch/fairseq/tree/main/examples/roberta",
    ),
    "Transformer-XL": Source(
        "Results on WikiText-103, Dai et al. 2019", "https://arxiv.org/abs/1901.02860", QUOTED
    ),
    "T5": Source(
        "List of the released models",
        "https://github.com/google-research/text-to-text-transfer-transformer",
    ),
    "GPT-2": Source("Model card", "https://github.com/openai/gpt-2/blob/master/model_card.md"),
    "GPT-2 layers": Source(
        "12 layers of 768 and 48 layers of 1600, 50,257 tokens", "https://github.com/openai/gpt-2", COUNTED
    ),
    "Whisper": Source("Table of the released models", "https://github.com/openai/whisper"),
    "Llama 2 layers": Source(
        "32 layers of 4096, feed-forward 11,008, 32,000 tokens",
        "https://huggingface.co/meta-llama/Llama-2-7b-hf",
        COUNTED,
    ),
    "Mistral layers": Source(
        "32 layers of 4096, feed-forward 14,336, 8 of 32 heads for keys, 32,000 tokens",
        "https://huggingface.co/mistralai/Mistral-7B-v0.1",
        COUNTED,
    ),
    "Jasper": Source(
        "Jasper 10x5 with dense residuals", f"{_EXAMPLES}/tree/master/PyTorch/SpeechRecognition/Jasper"
    ),
    "QuartzNet": Source(
        "OpenVINO's page of quartznet-15x5-en",
        "https://docs.openvino.ai/2021.4/omz_models_model_quartznet_15x5_en.html",
    ),
    "wav2vec 2.0": Source("SUPERB: models and their parameters", "https://arxiv.org/abs/2105.01051", QUOTED),
    "NCF layers": Source(
        "Factors 64, layers 256-256-128-64, 138,493 users and 26,744 items of ML-20m",
        f"{_EXAMPLES}/tree/master/PyTorch/Recommendation/NCF",
        COUNTED,
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
    family: str,
    gradient_mb: float,
    minibatch: int,
    forward_ms: float,
    backward_ms: float,
    source: str,
    size_source: str,
) -> KnownModel:
    """Return a model whose source gives the times, measured on V100-class GPUs."""
    return KnownModel(
        family, gradient_mb, minibatch, forward_ms, backward_ms, "V100", "", source, size_source
    )


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
_BERT_BASE = _Size("language", 110, "BERT")
_BERT_LARGE = _Size("language", 340, "BERT")
_TRANSFORMER_XL = _Size("language", 257, "Transformer-XL")
_JASPER = _Size("speech", 333, "Jasper")
_NCF = _Size("recommendation", 31.83, "NCF layers")
_SQUAD = "SQuAD fine-tuning"


def _mpt(
    parameters_m: float, gpu: str, minibatch: int, tokens_per_s: float, length: int = 2048
) -> KnownModel:
    size = _Size("language", parameters_m, "MosaicML")
    note = f"microbatches of sequences of {length} tokens"
    return _measured(size, gpu, minibatch, tokens_per_s / length, "MosaicML", note, "bf16")


# Plans and generated workloads depend on the numbers of the first seven.
CATALOGUE: Mapping[str, KnownModel] = {
    "resnet50": _published("vision", 99.2, 16, 25.0, 37.0, _WANG, _WANG),
    "vgg16": _published("vision", 526.4, 16, 36.0, 54.0, _WANG, _WANG),
    "inception-v3": _published("vision", 103.0, 16, 35.0, 52.0, _WANG, _WANG),
    "lstm-ptb": _published("language", 251.8, 16, 32.0, 47.0, _WANG, _WANG),
    "bert-base": _published("language", 438.0, 4, 59.0, 119.0, _MURI, "BERT layers"),
    "gpt2-small": _published("language", 498.0, 4, 142.0, 284.0, _MURI, "GPT-2 layers"),
    "resnet18": _published("vision", 47.0, 128, 260.0, 519.0, _MURI, "torchvision"),
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
    "roberta-large": _sized(_Size("language", 355, "RoBERTa")),
    "t5-base": _sized(_Size("language", 220, "T5")),
    "t5-large": _sized(_Size("language", 770, "T5")),
    "gpt2-medium": _sized(_Size("language", 355, "GPT-2")),
    "gpt2-large": _sized(_Size("language", 774, "GPT-2")),
    "gpt2-xl": _sized(_Size("language", 1557.6, "GPT-2 layers")),
    "llama2-7b": _sized(_Size("language", 6738.4, "Llama 2 layers")),
    "mistral-7b": _sized(_Size("language", 7241.7, "Mistral layers")),
    "whisper-small": _sized(_Size("speech", 244, "Whisper")),
    "whisper-medium": _sized(_Size("speech", 769, "Whisper")),
    "whisper-large": _sized(_Size("speech", 1550, "Whisper")),
    "wav2vec2-base": _sized(_Size("speech", 95.04, "wav2vec 2.0")),
    "wav2vec2-large": _sized(_Size("speech", 317.38, "wav2vec 2.0")),
    "quartznet-15x5": _sized(_Size("speech", 18.9, "QuartzNet")),
}

# Models that describe a job without further fields: for workloads, traces and the lab.
TIMED: Mapping[str, KnownModel] = {
    name: known for name, known in CATALOGUE.items() if known.minibatch is not None
}
