"""What sentence models share: the mask, attention by heads, pooling and length one."""

from collections.abc import Sequence
from typing import Final

from resources.ane.operations import CHANNELS, TOKENS, Array, Operations, Value, constant

# Added to the scores of tokens that are not to be seen: e to the power of it is 0 in float16, and
# it is far from float16's limit of 65,504.
HIDDEN: Final = -1e4


def hide(operations: Operations[Value], mask: Value, tokens: int) -> Value:
    """Return what is added to scores (1, keys, 1, queries): 0 for tokens, else ``HIDDEN``."""
    column = operations.reshape(operations.numbers(mask), (1, tokens, 1, 1))
    return operations.add(operations.multiply(column, constant(-HIDDEN)), constant(HIDDEN))


def attend(
    operations: Operations[Value],
    queries: Sequence[Value],
    keys: Sequence[Value],
    values: Sequence[Value],
    bias: Value,
) -> Value:
    """Return what each query collects, head after head; fewer keys than queries are shared.

    Args:
        operations: what runs it.
        queries: a value (1, width, 1, tokens) a head, scaled.
        keys: a value (1, tokens, 1, width) a group of heads.
        values: a value (1, width, 1, tokens) a group of heads.
        bias: added to the scores.
    """
    group = len(queries) // len(keys)
    heads = []
    for head, query in enumerate(queries):
        scores = operations.contract(keys[head // group], query)
        weights = operations.softmax(operations.add(scores, bias), CHANNELS)
        heads.append(operations.contract(values[head // group], weights))
    return operations.join(heads, CHANNELS)


def pool(operations: Operations[Value], state: Value, mask: Value, dense: Sequence[Array]) -> Value:
    """Return the mean over the tokens, through ``dense`` layers, scaled to length one."""
    row = operations.numbers(mask)
    width = operations.total(row, 1)
    share = operations.divide(row, width)  # shares first: a sum of 512 tokens could pass float16
    shape = (1, 1, 1, -1)
    pooled = operations.total(operations.multiply(state, operations.reshape(share, shape)), TOKENS)
    for weight in dense:
        pooled = operations.convolve(pooled, weight)
    # By its largest number first, so that no square passes float16.
    pooled = operations.divide(pooled, operations.largest(pooled, CHANNELS))
    squares = operations.total(operations.multiply(pooled, pooled), CHANNELS)
    return operations.multiply(pooled, operations.inverse_root(squares, 0.0))
