! Shapes.
module shapes
  implicit none
  type :: circle
    real :: r
  end type circle
contains
  ! Area of a circle.
  real function area(c) result(a)
    type(circle), intent(in) :: c
    a = c%r
  end function area
  subroutine scale(c, f)
    real :: f
  end subroutine scale
end module shapes
program main
end program main
