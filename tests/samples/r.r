library(stats)

MAX_ITEMS <- 10

#' Builds an item.
#'
#' @param name The name.
build_item <- function(name, price = 0, ...) {
  helper <- function(x) x
  helper(name)
}

print.item = function(x, ...) cat(x$name)

square <- \(x) x^2

setClass("Item", representation(name = "character"))
setMethod("show", "Item", function(object) cat("x"))

if (TRUE) {
  fallback <- function() NULL
}
