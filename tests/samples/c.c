/* Copyright Example. */
#include <stdio.h>

#define BUFFER_SIZE 1024
/* Smaller of two. */
#define MIN(a, b) \
  ((a) < (b) ? (a) : (b))

typedef unsigned long size_type;
typedef int (*compare_fn)(const void *, const void *);

/* A list node. */
struct node {
  int value;
  struct node *next;
};

typedef struct {
  double x, y;
} point_t;

enum color { RED, GREEN };

typedef struct node node_t;

#ifdef __cplusplus
extern "C" {
#endif

// Adds a value in front.
static inline struct node *push(struct node *head, int value, ...) {
  return head;
}

char *name(void) { return 0; }

int apply(int (*fn)(int), const char *const argv[], unsigned count) {
  struct local { int a; } v;
  return fn(v.a);
}

int prototype(int a);

#ifdef __cplusplus
}
#endif
