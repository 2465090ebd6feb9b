# Region to use.
variable "region" {
  type    = string
  default = "eu-west-1"
}

locals {
  name = "shop"
}

# The web server.
resource "aws_instance" "web" {
  ami = "abc"
  lifecycle {
    create_before_destroy = true
  }
}

data "aws_ami" "ubuntu" {
  most_recent = true
}

module "network" {
  source = "./network"
}

output "ip" {
  value = aws_instance.web.public_ip
}

provider "aws" {
  region = var.region
}
