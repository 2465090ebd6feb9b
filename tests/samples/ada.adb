-- Things.
package body Shop is
   type Item is record
      Price : Integer;
   end record;
   -- Adds.
   function Add (A, B : Integer) return Integer is
   begin
      return A + B;
   end Add;
   procedure Hello is
   begin
      null;
   end Hello;
end Shop;
