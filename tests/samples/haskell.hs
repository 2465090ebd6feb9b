{-# LANGUAGE GADTs #-}
module Shop.Item (Item (..), build) where

import Data.List (sort)

-- | An item.
data Item = Item { name :: String, price :: Int } | Free
  deriving (Show)

newtype Price a = Price { unPrice :: a }
type Name = String

-- | Things with a price.
class Priced a where
  cost :: a -> Int
  cost _ = 0

instance Priced Item where
  cost (Item _ p) = p

-- | Builds an item.
build :: String -> Int -> Item
build n p = helper n
  where
    helper x = Item x p

total :: [Item] -> Int
total [] = 0
total (x:xs) = cost x + total xs

maxItems :: Int
maxItems = 10

(<+>) :: Int -> Int -> Int
a <+> b = a + b
