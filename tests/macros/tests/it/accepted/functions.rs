//! Functions that are not handlers.
#![deny(warnings)]

use std::fmt::Display;
use std::sync::Arc;

use lock_tower::{LockClient, LockError, distributed_lock};

#[derive(Debug)]
enum StockError {
    SoldOut,
    Lock,
}

impl From<LockError> for StockError {
    fn from(_: LockError) -> Self {
        Self::Lock
    }
}

struct Stock {
    locks: LockClient,
    shop: String,
}

impl Stock {
    #[distributed_lock(key = "stock:{self.shop}:{sku}", client = self.locks)]
    async fn take(&self, sku: &str) -> Result<usize, StockError> {
        match sku.len() {
            0 => return Err(StockError::SoldOut),
            length => Ok(length),
        }
    }

    #[distributed_lock(key = "stock:{self.shop}", client = &self.locks)]
    async fn rename(&mut self, shop: String) -> Result<(), StockError> {
        self.shop = shop;
        Ok(())
    }

    #[distributed_lock(key = "stock:{self.shop}", client = self.locks)]
    async fn close(self) -> Result<String, StockError> {
        Ok(self.shop)
    }

    #[distributed_lock(key = "stock:{self.shop}", client = self.locks)]
    async fn shared(self: Arc<Self>) -> Result<Arc<Self>, StockError> {
        Ok(self)
    }
}

trait Shelf {
    fn locks(&self) -> &LockClient;

    #[allow(async_fn_in_trait)]
    #[distributed_lock(key = "shelf:{row}", client = self.locks())]
    async fn tidy(&self, row: u8) -> Result<(), LockError> {
        let _ = row;
        Ok(())
    }
}

impl Shelf for Stock {
    fn locks(&self) -> &LockClient {
        &self.locks
    }
}

/// The client is a part of a value that the body moves.
#[distributed_lock(key = "shop:{stock.shop}", client = stock.locks)]
async fn body_takes_the_client(stock: Stock) -> Result<Stock, LockError> {
    Ok(stock)
}

#[distributed_lock(key = "shop:{name}", client = locks)]
async fn references<'a, 'b>(
    locks: &'b LockClient,
    name: &'a str,
    mut words: Vec<&'a str>,
) -> Result<&'a str, LockError> {
    words.push(name);
    Ok(words[0])
}

#[distributed_lock(key = "part:{part}", client = (state))]
async fn generics<P, const N: usize>(
    state: Arc<LockClient>,
    part: P,
    items: [u8; N],
) -> Result<impl Display, LockError>
where
    P: lock_key_part::KeyPart + Display,
{
    drop(state);
    Ok(format!("{part}{}", items.len()))
}

mod lock_key_part {
    pub(crate) use lock_tower::__private::KeyPart;
}

type Outcome<T> = Result<T, StockError>;

#[distributed_lock(key = "uuid:{id:uuid}", client = locks)]
async fn whatever_displays_as_a_uuid(
    locks: LockClient,
    id: impl Display,
) -> Outcome<Box<dyn Display>> {
    if false {
        Err(StockError::SoldOut)?;
    }
    Ok(Box::new(id.to_string()))
}

#[distributed_lock(key = "stock:{sku}", client = locks.clone())]
async fn names_of_the_expansion(
    locks: &LockClient,
    sku: u64,
    __key: u64,
    __spec: u64,
    __client: u64,
    __writer: u64,
    __result: u64,
) -> Result<u64, LockError> {
    Ok(sku + __key + __spec + __client + __writer + __result)
}

macro_rules! locked {
    ($name:ident, $key:literal, $argument:ident) => {
        #[distributed_lock(key = $key, client = locks)]
        async fn $name(locks: &LockClient, $argument: u64) -> Result<u64, LockError> {
            Ok($argument)
        }
    };
}

locked!(from_a_macro, "order:{id}", id);

fn assert_send<T: Send>(_: T) {}

#[test]
fn all_compile() {
    let _ = |stock: &'static Stock, locks: &'static LockClient| {
        assert_send(stock.take("7"));
        assert_send(references(locks, "name", Vec::new()));
        assert_send(generics(Arc::new(locks.clone()), 7_u8, [0]));
        assert_send(whatever_displays_as_a_uuid(locks.clone(), "x"));
        assert_send(names_of_the_expansion(locks, 1, 2, 3, 4, 5, 6));
        assert_send(from_a_macro(locks, 7));
    };
    let _ = (Stock::rename, Stock::close, Stock::shared, body_takes_the_client);
    let _ = <Stock as Shelf>::tidy;
}
