class_name Player
extends Node
## Speed.
const MAX_SPEED = 10
signal died(reason)
enum State { IDLE, RUN }
@export var speed := 1

# Moves it.
func move(delta: float, fast = false) -> void:
	var f = func(x): return x

static func make(): return null

class Inner:
	func go(): pass
