# frozen_string_literal: true

require 'json'

# Things for sale.
module Shop
  VERSION = '1.0'

  # One item.
  class Item < Base::Model
    include Comparable
    attr_reader :price

    # Builds an item.
    def self.build(name, price = 0, *tags, currency: 'EUR', strict:, **options, &block)
      new(name)
    end

    class << self
      def all; end
    end

    def <=>(other) = price <=> other.price

    def free?
      price.zero?
    end

    private

    def secret
      helper = lambda { |x| x }
      helper
    end
  end

  class Shop::Error < StandardError; end
  Point = Struct.new(:x, :y) do
    def length; end
  end
end

private def top_level(a, b) = a + b

if true
  def conditional; end
end
