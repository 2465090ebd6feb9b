package org.example.shop

/** Something with a price. */
trait Priced[T] extends Base {
  type Unit
  def price: Int
  def label(prefix: String = "x"): String = prefix
}

@SerialVersionUID(1L)
case class Item[A](name: String, price: Int = 0)(implicit ev: Ordering[A]) extends Priced[A] {
  val tax = 0.19
  private lazy val total: Int = price
  // Finds one.
  override def label(prefix: String): String = {
    def helper(x: Int): Int = x
    class Local { def go(): Unit = () }
    prefix
  }
}

object Item {
  final val Max = 10
  def apply(name: String): Item[Int] = new Item(name, 1)
  implicit class Rich(val i: Int) { def twice: Int = i * 2 }
}

package object util { type Name = String; def now(): Long = 0L }
sealed abstract class Level
