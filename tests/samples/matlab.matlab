% Adds.
function [c, d] = add(a, b)
  c = a + b;
end
classdef Item < handle
  properties
    Price
  end
  methods
    function obj = Item(p)
      obj.Price = p;
    end
  end
end
