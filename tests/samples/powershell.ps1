# Gets an item.
function Get-Item2 {
    [CmdletBinding()]
    param([string]$Name, [int]$Count = 1)
    function Inner { 1 }
    return $Name
}

class Item : Base {
    [string]$Name
    Item([string]$name) { $this.Name = $name }
    [int] Price([int]$tax) { return 1 }
    static [Item] Make() { return $null }
}
enum Level { Low; High }
filter Where-Big { $_ }
$MaxItems = 10
