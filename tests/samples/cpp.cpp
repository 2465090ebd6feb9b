#include <string>
#define CHECK(x) ((x) ? 1 : 0)

namespace geo::plane {

/// A point.
class Point final : public Base<int> {
 public:
  explicit Point(int x, int y = 0) : x_(x) {}
  ~Point() = default;
  int x() const noexcept { return x_; }
  bool operator==(const Point& other) const { return x_ == other.x_; }
  template <typename T> T as() const { return T(x_); }
  enum class Side { Left, Right };
  struct Inner { void deep() {} };

 private:
  int x_ = 0;
};

class GEO_API Shape : public Drawable {
 public:
  virtual double area() const = 0;
  GEO_API void scale(double factor) { (void)factor; }
};

// Clamps a value.
template <typename T, int N = 3>
[[nodiscard]] constexpr T clamp_to(T v, const std::vector<T>& lo, T... hi) {
  struct Local { int run() { return 1; } };
  auto f = [](int a) { return a; };
  return v;
}

using Name = std::string;
union Bits { int a; float b; };
concept_like int counter = 0;
}  // namespace geo::plane

geo::plane::Point::Point(int x, int y) : x_(x) {}

template <class T>
void Stack<T>::push(T&& value) { }

static std::unique_ptr<Point> make_point(int x) { return nullptr; }
const int LIMIT = 10;
int main(int argc, char** argv) { return 0; }
