# Compiler to use.
CC := gcc
export PREFIX ?= /usr

.PHONY: all clean

# Builds everything.
all: build/main.o
	$(CC) -o $@ $^

build/%.o: src/%.c
	$(CC) -c $<

ifdef DEBUG
debug: all
endif

define greet
echo hello
endef
