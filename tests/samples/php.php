<?php
namespace App\Shop;

use App\Base;

const MAX_ITEMS = 10;
define('OTHER', 1);

/**
 * Something with a price.
 */
interface Priced { const UNIT = 'EUR'; public function price(): int; }

trait Loggable {
    protected function log(string $message, mixed ...$rest): void {}
}

#[Entity]
abstract class Item extends Base implements Priced
{
    use Loggable;
    private const LIMIT = 5;
    public ?string $name = null;

    public function __construct(private readonly int $price = 0, array &$options = []) {}

    // Builds one.
    public static function build(string $name): static { return new static(); }
    abstract protected function close(): void;
}

enum Level: int { case Low = 1; public function label(): string { return 'x'; } }

/** Adds. */
function add(int $a, int $b = 2): int
{
    function nested() {}
    $f = fn($x) => $x;
    return $a + $b;
}
if (!function_exists('fallback')) {
    function fallback() {}
}
