// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

interface IShop { function price(uint id) external view returns (uint); }

library SafeMath { function add(uint a, uint b) internal pure returns (uint) { return a + b; } }

/// @title A shop.
contract Shop is IShop {
    uint public constant MAX = 10;
    mapping(address => uint) private balances;
    struct Item { string name; uint price; }
    enum Level { Low, High }
    event Sold(address indexed buyer, uint id);
    error TooExpensive(uint price);

    modifier onlyOwner() { _; }

    constructor(address owner) { }

    /// Price of one item.
    function price(uint id) external view override returns (uint) {
        return id;
    }
    receive() external payable {}
}

function free(uint a) pure returns (uint) { return a; }
