defmodule Shop.Item do
  @moduledoc """
  Items of the shop.
  """
  use GenServer
  @max 10
  defstruct [:name, price: 0]
  @type t :: %__MODULE__{name: String.t()}

  @doc "Builds an item."
  @spec build(String.t(), integer()) :: t()
  def build(name, price \\ 0) when is_binary(name) do
    %__MODULE__{name: name, price: price}
  end

  # Not public.
  defp check(%{price: price}), do: price > 0

  defmacro twice(expr) do
    quote do: unquote(expr) * 2
  end

  defguard is_free(item) when item == 0
  def zero, do: 0
  @callback run(t()) :: :ok

  defmodule Inner do
    def go(), do: :ok
  end
end

defprotocol Priced do
  def price(item)
end

defimpl Priced, for: Shop.Item do
  def price(item), do: item.price
end
