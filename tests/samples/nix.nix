{ pkgs ? import <nixpkgs> { }, ... }:
let
  # Doubles it.
  double = x: x * 2;
  version = "1.0";
in
{
  inherit version;
  build = { name, src, ... }@args: pkgs.stdenv.mkDerivation args;
  nested.attr = 1;
}
