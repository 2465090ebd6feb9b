-module(shop).
-export([build/2]).
-define(MAX, 10).
-record(item, {name, price = 0}).
-type price() :: integer().

%% Builds an item.
-spec build(string(), price()) -> #item{}.
build(Name, 0) -> #item{name = Name};
build(Name, Price) ->
    #item{name = Name, price = Price}.

total([]) -> 0.
