library shop;

import 'dart:core';

const maxItems = 10;
final names = <String>[];

/// Something with a price.
abstract class Priced<T> {
  int get price;
  set price(int value);
  String label([String prefix = 'x']);
}

@immutable
class Item extends Priced<int> with Logger implements Comparable<Item> {
  final String name;
  Item(this.name, {required this.price, int tax = 0});
  Item.free(String name) : this(name, price: 0);
  factory Item.parse(String text) { return Item(text, price: 1); }
  @override
  int get price => 1;
  // Finds one.
  static Future<Item?> find(int id, {bool strict = false}) async {
    int helper(int a) => a;
    return null;
  }
  operator ==(Object other) => true;
}

mixin Logger on Priced { void log(String m) {} }
extension StringX on String { bool get isBlank => trim().isEmpty; }
enum Level { low, high; int rank() => 1; }
typedef Handler = void Function(int);
int add(int a, int b) => a + b;
void main() {}
