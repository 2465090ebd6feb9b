" Says hello.
function! shop#hello(name, ...) abort
  echo a:name
endfunction
function s:local() dict
endfunction
command! Hello call shop#hello('x')
let g:max_items = 10
