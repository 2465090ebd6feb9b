"""``codelake completion``: let a shell complete commands, options and names of the index."""

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_CODELAKE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what SHELL runs to complete codelake's commands, options, repositories and kinds.

    \b
    Examples:
      eval "$(codelake completion bash)"                      in ~/.bashrc
      eval "$(codelake completion zsh)"                       in ~/.zshrc
      codelake completion fish > ~/.config/fish/completions/codelake.fish
    """  # noqa: D301 # \b is click's mark for text that keeps its lines
    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 # click has all three
    click.echo(made(context.find_root().command, {}, "codelake", _VARIABLE).source())
