namespace py shop
const i32 MAX = 10
typedef string Name
// An item.
struct Item { 1: required string name, 2: i32 price = 0 }
enum Level { LOW = 1 }
exception Failed { 1: string why }
union Value { 1: i32 a }
// Finds.
service Shop extends Base { Item find(1: i32 id) throws (1: Failed f), void close() }
