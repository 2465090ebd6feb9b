using System;

namespace Shop.Orders
{
    /// <summary>Keeps orders.</summary>
    [Serializable]
    public abstract partial class OrderStore<T> : IStore<T> where T : Order
    {
        public const int Limit = 10;
        private readonly List<T> _items = new();

        public OrderStore(List<T> items) { _items = items; }

        /// <summary>How many.</summary>
        public int Count { get; private set; }

        public event EventHandler Changed;

        [Obsolete("use Find")]
        public async Task<T> Load(int id, string name = "x", params object[] rest)
        {
            int Local(int a) => a;
            return await Find(id);
        }

        protected abstract void Close();
        public static OrderStore<T> operator +(OrderStore<T> a, OrderStore<T> b) => a;
        public T this[int index] => _items[index];
        private class Node { }
    }

    public interface IStore<T> { T Find(int id); }
    public enum Level { Low, High }
    public struct Point { public int X; public double Length() => X; }
    public record Person(string Name, int Age) { public string Label => Name; }
    public delegate void Handler(object sender);
}

namespace Other { static class Extensions { public static bool IsEmpty(this string text) => text == ""; } }
