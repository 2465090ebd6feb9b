package Shop::Item;
use strict;
use warnings;

our $VERSION = '1.0';
use constant MAX_ITEMS => 10;

# Builds an item.
sub new {
    my ($class, %args) = @_;
    my $helper = sub { return 1 };
    return bless {%args}, $class;
}

sub price { return $_[0]->{price} }

package Shop::Cart {
    sub total { return 0 }
}

=head1 NAME

Shop - sub fake { }

=cut

sub _private($x, $y = 2) { 1 }

1;
