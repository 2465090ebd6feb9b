"""``codelake ane``: models for the Neural Engine of a Mac."""

from dataclasses import asdict
from pathlib import Path

import click

from pipelines.commands.options import json_option, print_json


@click.group()
def ane() -> None:
    """Convert a sentence model for the Neural Engine, and check it on a Mac.

    \b
    Examples:
      codelake ane convert ~/models/embeddinggemma-300m ~/models/gemma-ane --bits 8
      codelake ane check ~/models/gemma-ane
      codelake index ~/src --config codelake.toml    with embedding.embedder = "ane"
    """  # noqa: D301 # \b is click's mark for text that keeps its lines


@ane.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--tokens", type=int, default=512, show_default=True, help="Tokens of every text.")
@click.option(
    "--bits",
    type=click.Choice(["16", "8", "4"]),
    default="16",
    show_default=True,
    help="Bits of a weight: float16, or palettes of 256 or 16 values.",
)
@click.option("--name", default="", metavar="NAME", help="What the model is called.")
@json_option
def convert(  # one parameter an option
    folder: Path, output: Path, *, tokens: int, bits: str, name: str, as_json: bool
) -> None:
    """Convert the sentence-transformers model in FOLDER and write it to OUTPUT.

    Runs on any system. BERT encoders (MiniLM) and EmbeddingGemma are known.
    """
    from resources.ane.converting import convert as convert_model  # noqa: PLC0415 # numpy, slow

    package = convert_model(folder, output, tokens=tokens, bits=int(bits), name=name)
    manifest = package.manifest
    if as_json:
        print_json({"model_id": manifest.model_id, "folder": str(package.folder)})
        return
    click.echo(f"{manifest.model_id}: {manifest.dimension} dimensions, in {package.folder}")
    click.echo(f"On a Mac: codelake ane check {package.folder}")


@ane.command()
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def check(folder: Path, *, as_json: bool) -> None:
    """Report what the model in FOLDER does on this Mac.

    Where its operations are planned, milliseconds a text, and how near its vectors are to the
    reference vectors that were computed in float32 when it was converted.
    """
    from resources.ane import checking  # noqa: PLC0415 # numpy, slow
    from resources.ane.packages import AnePackage  # noqa: PLC0415 # the same
    from resources.embedders.ane import require_neural_engine  # noqa: PLC0415 # the same
    from resources.embedders.opening import require_package  # noqa: PLC0415 # the same

    package = AnePackage(folder)
    require_neural_engine("`codelake ane check`")
    require_package("coremltools", "ane")
    report = checking.check(package)
    if as_json:
        print_json(asdict(report))
        return
    for line in checking.describe(report):
        click.echo(line)
