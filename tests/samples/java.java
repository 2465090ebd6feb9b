package org.example.shop;

import java.util.List;

/** Something that can be bought. */
public interface Item {
    int MAX_PRICE = 100;
    /** Price in cents. */
    int price();
    default String label() { return "item"; }
}

@Deprecated
@SuppressWarnings({"unchecked", "rawtypes"})
public abstract class Shop<T extends Item> implements Iterable<T> {
    private static final int LIMIT = 10;
    protected final List<T> items;

    /**
     * Creates a shop.
     */
    public Shop(List<T> items) { this.items = items; }

    @Override
    public synchronized <U> List<U> find(final String name, int[] ids, U... more) throws Exception {
        Runnable task = new Runnable() {
            @Override public void run() { }
        };
        return null;
    }

    abstract void close();

    enum Level { LOW { int rank() { return 1; } }, HIGH; int rank() { return 2; } }
    record Point(int x, int y) { Point { } static Point zero() { return new Point(0, 0); } }
    @interface Marker { String value() default ""; }
    static class Inner { Inner() { } }
}
