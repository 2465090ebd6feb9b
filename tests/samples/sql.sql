-- Things for sale.
CREATE TABLE IF NOT EXISTS shop.items (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL
);

CREATE VIEW cheap_items AS SELECT * FROM shop.items WHERE price < 10;

CREATE UNIQUE INDEX idx_name ON shop.items (name);

-- Adds tax.
CREATE OR REPLACE FUNCTION add_tax(price numeric, rate numeric DEFAULT 0.19) RETURNS numeric AS $$
BEGIN
  RETURN price * (1 + rate);
END;
$$ LANGUAGE plpgsql;

CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TRIGGER on_insert AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION add_tax();
CREATE SCHEMA archive;
INSERT INTO shop.items VALUES (1, 'CREATE TABLE fake (id int)');
