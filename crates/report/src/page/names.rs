//! What the page calls candidates and plans by: their places in its lists.

pub(super) struct Names {
    pub(super) candidates: Vec<String>,
    pub(super) plans: Vec<String>,
}

impl Names {
    pub(super) fn candidate(&self, label: &str) -> Option<usize> {
        self.candidates.iter().position(|c| c == label)
    }

    pub(super) fn plan(&self, name: &str) -> Option<usize> {
        self.plans.iter().position(|p| p == name)
    }
}
