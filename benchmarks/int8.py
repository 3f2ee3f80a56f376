"""The effect of ONNX and 8-bit arithmetic on this CPU: turns per second and fraction of unchanged labels, compared with
the engine of `edos label`, in one run.

    pip install onnx onnxscript onnxruntime
    python benchmarks/int8.py $EDOS_DATA_DIR/edos_amt/mturk_groundtruth_labels.csv --models models/weak \
        models/dialogue

Each model is exported as an ONNX graph, which onnxruntime runs unchanged and quantised: dynamically with 8-bit weights
by column and 8-bit activations by tensor (signed; signed with 7 bits, which cannot saturate the instructions of
processors without VNNI; unsigned), and in blocks of 32 with a scale each. All variants get the same batches of the same
distinct sequences, on one thread, alternately; the minimum times are reported. A variant is useful if it is faster and
leaves 99.5 % of the labels unchanged. Writes benchmarks/int8.json.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

from benchmarks.label import read_dialogues
from benchmarks.machine import describe_machine, write_result
from edos_dataset.arrays import Floats, Ints
from edos_dataset.encoders.encoder import CPU_TOKENS, limit_threads, pad, token_batches
from edos_dataset.labeling.models.labelers import load_labeler
from edos_dataset.labeling.models.saved_labelers import TransformerLabeler

INPUTS = ("input_ids", "attention_mask", "token_weights")
DYNAMIC: dict[str, dict[str, Any]] = {
    "int8": {"weight_type": QuantType.QInt8, "per_channel": True},
    "int8_of_7_bits": {"weight_type": QuantType.QInt8, "per_channel": True, "reduce_range": True},
    "uint8": {"weight_type": QuantType.QUInt8, "per_channel": True},
}
Logits = Callable[[Ints, Ints, Floats], Floats]


class WithWeights(torch.nn.Module):
    """A `DialogueClassifier` with its turn weights as an input and logits as its output."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_weights: torch.Tensor
    ) -> torch.Tensor:
        """Return the logits, [batch, 41]."""
        logits: torch.Tensor = self.model(input_ids, attention_mask, token_weights).logits
        return logits


def export(labeler: TransformerLabeler, path: Path) -> None:
    """Write the model as one ONNX file, for any number and length of sequences."""
    from edos_dataset.labeling.models.classifier import DialogueClassifier

    model = WithWeights(DialogueClassifier.from_pretrained(labeler.folder).float()).eval()  # type: ignore[no-untyped-call]
    ids = torch.randint(1000, 2000, (4, 11))
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens")}
    with torch.no_grad():
        example = (ids, torch.ones_like(ids), torch.ones(ids.shape))
        torch.onnx.export(
            model,
            example,
            path,
            dynamo=True,
            dynamic_shapes=dict.fromkeys(INPUTS, axes),
            input_names=list(INPUTS),
            output_names=["logits"],
        )
    graph = onnx.load(path)
    del graph.graph.value_info[:]  # shapes noted by the export contradict those that the quantiser infers
    path.with_suffix(".onnx.data").unlink()
    onnx.save(graph, path)


def quantised(path: Path) -> dict[str, Path]:
    """Write the quantised variants of a graph beside it."""
    forms = {"onnx": path}
    for name, settings in DYNAMIC.items():
        forms[name] = path.with_name(f"{name}.onnx")
        quantize_dynamic(
            path,
            forms[name],
            op_types_to_quantize=["MatMul", "Gemm"],
            extra_options={"MatMulConstBOnly": True},
            **settings,
        )
    forms["int8_in_blocks"] = path.with_name("blocks.onnx")
    quantiser = MatMulNBitsQuantizer(onnx.load(path), bits=8, block_size=32, is_symmetric=True, accuracy_level=4)
    quantiser.process()
    quantiser.model.save_model_to_file(forms["int8_in_blocks"], False)
    return forms


def session(path: Path) -> Logits:
    """Return a function that runs a graph on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    runner = onnxruntime.InferenceSession(path, options)
    return lambda *values: np.asarray(runner.run(None, dict(zip(INPUTS, values, strict=True)))[0])


def compare(labeler: TransformerLabeler, dialogues: list[list[str]], repeats: int) -> dict[str, Any]:
    """Run all variants of a model; return turns per second, the ratio to the engine's arithmetic, and the changes."""
    model: Any = labeler._model
    sequences = list(dict.fromkeys(labeler._sequences(dialogues)))
    lengths = np.array([len(row) for row in sequences])

    def run(logits: Logits) -> tuple[float, Floats]:
        began, rows = time.perf_counter(), []
        batches = list(token_batches(lengths.tolist(), CPU_TOKENS))
        for batch in batches:
            ids, mask = pad([sequences[row] for row in batch], lengths[batch], 0)
            rows.append(logits(ids, mask, model.turn_weights(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()))
        out = np.concatenate(rows)[np.argsort(np.concatenate(batches))]
        return time.perf_counter() - began, out

    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        export(labeler, Path(folder) / "model.onnx")
        runners: dict[str, Logits] = {"torch": lambda *values: model(*map(torch.from_numpy, values)).logits.numpy()}
        runners |= {name: session(path) for name, path in quantised(Path(folder) / "model.onnx").items()}
        outputs: dict[str, Floats] = {}
        seconds: dict[str, list[float]] = {name: [] for name in runners}
        for _ in range(repeats):
            for name, runner in runners.items():
                taken, outputs[name] = run(runner)
                seconds[name].append(taken)
    reference = outputs["torch"]
    return {
        "sequences": len(sequences),
        "tokens": int(lengths.sum()),
        "forms": {
            name: {
                "sequences_per_second": round(len(sequences) / min(seconds[name]), 1),
                "ratio": round(min(seconds["torch"]) / min(seconds[name]), 2),
                "labels_equal": round(float((logits.argmax(axis=1) == reference.argmax(axis=1)).mean()), 4),
                "largest_change_of_a_logit": round(float(np.abs(logits - reference).max()), 4),
            }
            for name, logits in outputs.items()
        },
    }


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the crowd labels' CSV file, or JSON lines")
    parser.add_argument("--models", nargs="+", required=True, help="folders of `train_classifier.py`")
    parser.add_argument("--limit", type=int, default=500, help="number of dialogues, from the first")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    arguments = parser.parse_args()
    dialogues = read_dialogues(arguments.source)[: arguments.limit]
    results = {}
    with limit_threads(1):
        for name in arguments.models:
            labeler = load_labeler(name)
            if not isinstance(labeler, TransformerLabeler):
                parser.error(f"{name} is no fine-tuned model")
            results[labeler.source] = compare(labeler, dialogues, arguments.repeats)
    report = {
        "command": " ".join(["python", "benchmarks/int8.py", arguments.source.name, *sys.argv[2:]]),
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "versions": {name: version(name) for name in ("torch", "onnx", "onnxruntime")},
        "models": results,
    }
    write_result(arguments.out, report)


if __name__ == "__main__":
    main()
