package org.example.shop

const val MAX = 10
val names: List<String> = listOf()

/** Something with a price. */
interface Priced { val price: Int; fun label(): String = "x" }

@Serializable
data class Item(val name: String, override val price: Int = 0) : Priced {
    init { require(price >= 0) }
    constructor(name: String) : this(name, 1)
    companion object Factory { fun of(name: String): Item = Item(name) }
    private var cached: Int = 0
        get() = field
    inner class Part { fun size() = 1 }
}

// Finds one.
suspend inline fun <reified T> List<T>.findOne(vararg keys: String, crossinline test: (T) -> Boolean): T? {
    fun local(a: Int) = a
    return null
}

object Registry { fun clear() {} }
enum class Level(val rank: Int) { LOW(1), HIGH(2); fun next() = HIGH }
sealed class Result<out T> { class Ok<T>(val value: T) : Result<T>() }
typealias Handler = (Int) -> Unit
fun topLevel() {}
