unit Shop;
interface
const MaxItems = 10;
type
  // An item.
  TItem = class(TObject)
    FName: string;
  public
    constructor Create(const AName: string);
    function Price(Tax: Integer = 1): Integer;
  end;
  TPoint = record X, Y: Integer; end;
procedure Hello;
implementation
constructor TItem.Create(const AName: string);
begin
end;
function TItem.Price(Tax: Integer): Integer;
begin
  Result := Tax;
end;
procedure Hello;
begin
end;
end.
