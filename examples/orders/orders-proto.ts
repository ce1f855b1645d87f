/** The definition of the service, for its clients too. */
export const ordersProto = `
  syntax = "proto3";
  package shop.v1;
  message Order { string id = 1; string customer = 2; string email = 3; string sku = 4; int32 quantity = 5; }
  message Placed { string id = 1; string saga = 2; }
  message OrderId { string id = 1; }
  message State { string id = 1; string status = 2; }
  service Orders {
    rpc Place(Order) returns (Placed);
    rpc Get(OrderId) returns (State) { option idempotency_level = NO_SIDE_EFFECTS; }
  }
`;
