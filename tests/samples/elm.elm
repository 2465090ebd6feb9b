module Shop exposing (..)

import Html


{-| An item. -}
type alias Item =
    { name : String }


type Level
    = Low
    | High


{-| Builds. -}
build : String -> Item
build name =
    { name = name }


port save : String -> Cmd msg
