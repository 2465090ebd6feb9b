#import <Foundation/Foundation.h>
#define LIMIT 10

typedef NS_ENUM(NSInteger, Level) { LevelLow, LevelHigh };

/// Something with a price.
@protocol Priced <NSObject>
- (NSInteger)price;
@end

@interface Item : NSObject <Priced>
@property (nonatomic, copy) NSString *name;
- (instancetype)initWithName:(NSString *)name price:(NSInteger)price;
@end

@implementation Item

// Builds one.
- (instancetype)initWithName:(NSString *)name price:(NSInteger)price {
  self = [super init];
  return self;
}

+ (Item *)shared { return nil; }

- (NSInteger)price { return 1; }

@end

@implementation Item (Extras)
- (void)extra {}
@end

static int helper(int a) { return a; }
struct point { int x; };
