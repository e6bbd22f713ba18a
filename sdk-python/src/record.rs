//! A JSON object whose members are decoded at access. It is the base of all generated classes.

use std::cell::RefCell;

use agentese::framing::FrameText;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::errors;
use crate::member_spans::MemberSpans;
use crate::once_slot::OnceSlot;

thread_local! {
    /// The text of the record that is being created, and its class. The class is called without arguments;
    /// its `__new__` takes the text from here.
    static NEXT: RefCell<Option<(usize, FrameText)>> = const { RefCell::new(None) };
}

/// An immutable JSON object whose members are decoded when they are read.
#[pyclass(frozen, subclass, name = "Record", module = "agentese._native")]
pub struct Record {
    text: FrameText,
    places: OnceSlot<MemberSpans>,
    /// The first member that was accessed and is itself a record: the address of its descriptor, which lives
    /// as long as the class, and its value.
    part: OnceSlot<(usize, Py<PyAny>)>,
}

impl Record {
    /// Creates the content of an instance from its text, with the positions of its members if they are
    /// known.
    #[inline]
    pub fn new(text: FrameText, places: OnceSlot<MemberSpans>) -> Self {
        Record { text, places, part: OnceSlot::new() }
    }

    /// Creates an instance of any class.
    pub fn make<'py>(class: &Bound<'py, PyType>, text: FrameText) -> PyResult<Bound<'py, PyAny>> {
        let before = NEXT.replace(Some((class.as_ptr() as usize, text)));
        let made = class.call0();
        // A class of a user may have raised an exception before it took the text, or may have created other
        // records.
        NEXT.set(before);
        made
    }

    /// Takes the text for a new instance, if [`Record::make`] has called the class.
    pub fn take_next(class: &Bound<'_, PyType>) -> Option<FrameText> {
        let next = NEXT.with_borrow_mut(|next| next.take_if(|(of, _)| *of == class.as_ptr() as usize));
        next.map(|(_, text)| text)
    }

    /// Returns the JSON text of the object.
    pub fn text(&self) -> &FrameText {
        &self.text
    }

    /// Returns the value of a member that is a record, if it was accessed before. `descriptor` is the
    /// address of the member.
    #[inline]
    pub fn part<'py>(&self, py: Python<'py>, descriptor: usize) -> Option<Bound<'py, PyAny>> {
        let (known, value) = self.part.get()?;
        (*known == descriptor).then(|| value.bind(py).clone())
    }

    /// Stores the value of a member that is a record. Only the first value is stored.
    pub fn cache_part(&self, descriptor: usize, value: &Bound<'_, PyAny>) {
        if self.part.get().is_none() {
            self.part.set((descriptor, value.clone().unbind()));
        }
    }

    /// Takes the value stored by `cache_part`.
    pub fn take_part(&mut self) -> Option<Py<PyAny>> {
        Some(self.part.take()?.1)
    }

    /// Returns the positions of the members. Fails if the text is not an object.
    pub fn spans(&self, py: Python<'_>) -> PyResult<&MemberSpans> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        let text = self.text.as_str();
        let places = MemberSpans::of(text).map_err(|error| errors::decode(py, &error, text))?;
        Ok(self.places.get_or_set(places))
    }

    /// Returns the positions of the members of an object inside this one, if they are known.
    #[inline]
    pub fn spans_in(&self, part: &str) -> Option<MemberSpans> {
        self.places.get()?.inner(self.text.as_str(), part)
    }

    /// Returns the raw JSON of a member; the last one if the name occurs several times.
    #[inline]
    pub fn member(&self, py: Python<'_>, name: &str) -> PyResult<Option<&str>> {
        Ok(self.spans(py)?.find(self.text.as_str(), name))
    }
}
