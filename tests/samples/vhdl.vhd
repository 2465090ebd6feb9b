library ieee;
-- Counts up.
entity counter is
  port (clk : in bit; q : out integer);
end entity;

architecture rtl of counter is
  function add(a, b : integer) return integer is
  begin
    return a + b;
  end function;
begin
end architecture;

package shop is
  constant max : integer := 10;
end package;
