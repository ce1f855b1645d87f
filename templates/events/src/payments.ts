import { type Database, sql } from "stoa";

/** Stands for a payment provider. Customers whose name begins with "Broke" have no money. */
export class Payments {
  constructor(readonly db: Database) {}

  /** Charges a customer once for each key; false if the payment is declined. */
  async charge(customer: string, amount: number, key: string): Promise<boolean> {
    if (customer.startsWith("Broke")) return false;
    await this.db.execute(
      sql`insert into payments (key, customer, amount) values (${key}, ${customer}, ${amount}) on conflict do nothing`,
    );
    return true;
  }

  async refund(key: string): Promise<void> {
    await this.db.execute(sql`update payments set refunded = true where key = ${key}`);
  }
}
