project(shop LANGUAGES CXX)
set(MAX_ITEMS 10)

# Adds a module.
function(add_module name)
  message(${name})
endfunction()

macro(setup_all)
endmacro()

add_executable(shop main.cpp)
add_library(core STATIC core.cpp)
if(TRUE)
  add_custom_target(docs)
endif()
