module shop;
/// An item.
struct Item { string name; int price() { return 1; } }
class Cart(T) : Base { this(T t) {} ~this() {} static void run(int a, T b = 1) {} }
interface Priced { int price(); }
enum Level { low, high }
enum MAX = 10;
alias Name = string;
int add(int a, int b) { int inner(int x) { return x; } return a; }
template Twice(T) { T twice(T x) { return x; } }
unittest { assert(true); }
