"""`softsense code vectors`: frames and their decodes, for those who build a decoder in hardware."""

from __future__ import annotations

import json
from pathlib import Path

import click

from softsense import CodeError
from softsense.background import in_background
from softsense.cli.options import code_argument, example, force_option
from softsense.cli.ranges import Whole


@click.command(
    "vectors",
    epilog=example("softsense code vectors teaching-1/2 --channel bsc:0.06 --steps --out vectors"),
)
@code_argument
@click.option(
    "--channel",
    required=True,
    metavar="CHANNEL",
    help="Channel: bsc:P (bit error rate), errors:W (errors per word), awgn:EBN0_DB or gaussian:RBER:LEVELS.",
)
@click.option(
    "--decoder",
    default="min-sum-8bit",
    metavar="NAME",
    help="Decoder: min-sum-8bit[:LARGEST] (default min-sum-8bit), min-sum, min-sum-16bit or rcq:BITS[:POSTERIOR].",
)
@click.option("--iterations", default=20, type=Whole(1, 10**6), help="Most iterations of a pass; default: 20.")
@click.option("--frames", default=10, type=Whole(1, 10**6), help="Number of frames; default: 10.")
@click.option("--seed", default=1, type=Whole(0, 2**64 - 1), help="Seed of data and noise; default: 1.")
@click.option("--steps", is_flag=True, help="Also a-posteriori values and messages after every iteration.")
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for vectors.json and files for $readmemh.",
)
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the vectors as one JSON document.")
def code_vectors(
    name: str,
    channel: str,
    decoder: str,
    iterations: int,
    frames: int,
    seed: int,
    steps: bool,
    folder: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write test vectors of CODE's decoder for hardware.

    Frames are written as received, as decoded and, with --steps, with all states of the decoder in between, bit for bit
    (docs/decoders-in-hardware.md).
    """
    from softsense.vectors import decoder_vectors, expect_free

    if folder is None and not as_json:
        raise CodeError(
            "--out: found neither --out nor --json, expected at least one of the two: --out FOLDER writes the "
            "vectors, such as --out vectors"
        )
    if folder is not None:
        expect_free(folder, force)
    vectors = in_background(
        lambda: decoder_vectors(
            name, channel, decoder=decoder, iterations=iterations, frames=frames, seed=seed, steps=steps
        )
    )
    written = vectors.write(folder, force) if folder else []
    if as_json:
        click.echo(json.dumps(vectors.to_dict(), indent=1))
    else:
        click.echo("\n".join(f"wrote {path}" for path in written))
