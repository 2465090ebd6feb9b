# Says hello.
function hello --description 'x' --argument-names name
    echo $name
end
set -gx MAX_ITEMS 10
if true
    function inner; end
end
