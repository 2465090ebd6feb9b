// Counts up.
module counter #(parameter WIDTH = 8) (input clk, output reg [WIDTH-1:0] q);
  parameter MAX = 10;
  function [7:0] add(input [7:0] a, b);
    add = a + b;
  endfunction
  task reset;
    q = 0;
  endtask
  always @(posedge clk) q <= q + 1;
endmodule
