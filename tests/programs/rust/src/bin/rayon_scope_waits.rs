//! A scope waits for the tasks of its tasks. What follows it is alone.
use std::sync::Mutex;

fn shorten(list: &Mutex<Vec<u32>>) {
    let length = list.lock().unwrap().len();
    list.lock().unwrap().truncate(length - 1);
}

fn main() {
    let list = Mutex::new(vec![0]);
    rayon::scope(|scope| {
        for number in 0..4 {
            let list = &list;
            scope.spawn(move |scope| {
                list.lock().unwrap().push(number);
                scope.spawn(move |_| list.lock().unwrap().push(number));
            });
        }
    });
    shorten(&list);
    rayon::in_place_scope(|scope| scope.spawn(|_| shorten(&list)));
    shorten(&list);
    assert_eq!(list.lock().unwrap().len(), 6);
}
